// Uses every control of a page, each kind once, and tells which it has used.
// given: the kinds that were used before, which are left alone.
async (given) => {
  const labels = new Map(); // to look for them takes a browser long
  const labelOf = (control) => {
    if (!labels.has(control)) labels.set(control, control.labels?.[0]?.textContent);
    return labels.get(control);
  };
  const nameOf = (control) =>
    control.getAttribute("aria-label") ??
    (labelOf(control) || control.textContent || control.title || "");
  const kindOf = (control) => {
    const words = [control.tagName, control.type, nameOf(control)].join(" ");
    const kind = words.replace(/\d+/g, "#").replace(/\s+/g, " ").slice(0, 120);
    return `${control.closest("section")?.id} ${kind}`;
  };
  const tell = (control, ...events) => {
    for (const event of events) control.dispatchEvent(new Event(event, { bubbles: true }));
  };
  const pause = () => new Promise((done) => setTimeout(done));
  const give = async (control, value) => {
    control.value = value;
    tell(control, "input", "change");
    await pause();
  };
  const use = async (control) => {
    if (control.tagName === "SELECT") {
      const { options } = control;
      for (const at of [options.length - 1, Math.floor(options.length / 2), 0]) {
        await give(control, options[at]?.value);
      }
    } else if (control.type === "range") {
      const { min, max } = control;
      for (const value of [max, (Number(min) + Number(max)) / 2, min]) await give(control, value);
    } else if (control.tagName === "INPUT" && !["checkbox", "radio"].includes(control.type)) {
      const before = control.value;
      for (const value of ["text", "", "1e99", "2", before]) await give(control, value);
    } else if (control.tagName === "CANVAS") {
      for (const key of ["ArrowRight", "ArrowDown", "Enter"]) {
        control.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
        await pause();
      }
    } else {
      control.click();
      await pause();
    }
  };
  const used = new Set(given);
  const next = () => [...document.querySelectorAll("main :is(button, select, input, summary, canvas[tabindex])")]
    .find((control) => !used.has(kindOf(control)) && control.checkVisibility());
  for (let control = next(); control; control = next()) {
    used.add(kindOf(control));
    await use(control);
  }
  return [...used];
};
