// Starts each section on its element. One that fails says so in place, and the others go on.

const address = new Address();
address.arrive(false);
await new Promise((done) => requestAnimationFrame(() => setTimeout(done))); // the page is painted
const given = JSON.parse(document.getElementById("data").textContent);
for (const [id, data] of Object.entries(given)) {
  const root = document.getElementById(id);
  try {
    await sections[id](root, data, address);
    root.classList.add("live");
  } catch (error) {
    console.warn(error);
    say(root, `This part does not move here: ${error.message}.`, "failed");
  }
}
// A moment that was sent is shown; a page that is loaded again stays where it was.
if (performance.getEntriesByType("navigation")[0]?.type === "navigate" && location.hash) address.arrive();
document.documentElement.classList.add("started");
