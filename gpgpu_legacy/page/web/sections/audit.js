// The audit: the bar of verdicts, a search and a choice of papers filter the claims.

sections["audit"] = (root, data, address) => {
  const claims = [...root.querySelectorAll("[data-claim]")];
  const texts = new Map(claims.map((claim) => [claim, auditPlain(claim)]));
  const form = root.querySelector("form");
  let revealed = null;
  const buttons = auditButtons(root, data.verdicts, (verdict) => {
    address.set({ "audit.verdict": verdict, "audit.claim": null });
    show();
  });
  for (const claim of claims) auditLinks(claim, address, show);
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => {
    const value = (name) => form.elements[name].value || null;
    address.set({
      "audit.words": value("words"), "audit.paper": value("paper"), "audit.claim": null,
    });
    show();
  });

  function show() {
    const wrong = [];
    const asked = address.get("audit.verdict") ?? data.verdicts[0];
    const known = data.verdicts.includes(asked) || asked === "all";
    if (!known) wrong.push(`There is no verdict “${asked}”; all are shown.`);
    const verdict = known ? asked : "all";
    const words = address.get("audit.words") ?? "";
    let paper = address.get("audit.paper") ?? "";
    if (![...form.elements.paper.options].some((option) => option.value === paper)) {
      wrong.push(`There is no paper “${paper}”; all are shown.`);
      paper = "";
    }
    const name = address.get("audit.claim");
    const linked = claims.find((claim) => claim.dataset.claim === name);
    if (name && !linked) wrong.push(`There is no claim “${name}”; these are shown instead.`);
    if (form.elements.words.value !== words) form.elements.words.value = words;
    form.elements.paper.value = paper;
    const wanted = auditWords(words);
    const matching = claims.filter(
      (claim) => (!paper || claim.dataset.paper === paper)
        && wanted.every((word) => texts.get(claim).includes(word)),
    );
    const shown = new Set(
      matching.filter((claim) => verdict === "all" || claim.dataset.verdict === verdict),
    );
    if (linked) shown.add(linked);
    for (const claim of claims) claim.hidden = !shown.has(claim);
    for (const [value, button] of buttons) {
      const of = (kind) => matching.filter((one) => value === "all" || one.dataset[kind] === value);
      const findings = new Set(of("finding").map((claim) => claim.dataset.of)).size;
      button.setAttribute("aria-pressed", value === verdict);
      button.querySelector("strong").textContent = findings;
      button.querySelector(".audit-claims").textContent = of("verdict").length;
      if (value !== "all") button.parentElement.style.flexGrow = findings;
    }
    form.querySelector("output").textContent = `${shown.size} of ${claims.length} claims`
      + (verdict === "all" ? "" : `, ${verdict}: ${buttons.get(verdict).title}`);
    say(form, wrong.join(" "));
    if (linked && linked !== revealed) auditReveal(linked);
    revealed = linked;
  }

  address.follow(show);
};

// The parts of the bar as buttons, by their verdicts, and one for all of them.
function auditButtons(root, verdicts, choose) {
  const bar = root.querySelector(".audit-bar");
  const buttons = new Map();
  const places = [...bar.children];
  const every = element("li", {}, element("strong", {}), " all ",
    element("span", { class: "soft" }, "(", element("span", { class: "audit-claims" }), " claims)"));
  bar.append(every);
  for (const [index, value] of [...verdicts, "all"].entries()) {
    const place = places[index] ?? every;
    const button = element("button", { type: "button", click: () => choose(value) });
    button.title = place.querySelector(".audit-meaning")?.textContent ?? "";
    place.querySelector(".audit-meaning")?.remove();
    button.append(...place.childNodes);
    place.append(button);
    buttons.set(value, button);
  }
  return buttons;
}

// What leads from a claim elsewhere: to a page that opens with it, to those of the same cause.
function auditLinks(claim, address, show) {
  const name = claim.dataset.claim;
  const here = element("a", { href: `#audit.claim=${encodeURIComponent(name)}` },
    "a link to this claim");
  claim.querySelector("dl").append(element("dt", {}, "send"), element("dd", {}, here));
  const shared = claim.querySelector("[data-cause]");
  if (!shared) return;
  const button = element("button", { type: "button" }, "show them");
  button.addEventListener("click", () => {
    address.set({ "audit.words": `“${shared.dataset.cause}”`, "audit.verdict": null,
      "audit.paper": null, "audit.claim": null });
    show();
  });
  shared.append(" ", button);
}

// Opens a claim, at the top of the list.
function auditReveal(claim) {
  const list = claim.parentElement;
  claim.open = true;
  list.scrollTop += claim.getBoundingClientRect().top - list.getBoundingClientRect().top;
}

const auditPlain = (claim) => claim.textContent.replace(/\s+/g, " ").toLowerCase();

// The words of a search; what stands in quotation marks is one of them.
function auditWords(text) {
  const found = text.toLowerCase().match(/[“"][^”"]+[”"]?|\S+/g) ?? [];
  return found.map((word) => word.replace(/[“”"]/g, "").trim()).filter(Boolean);
}
