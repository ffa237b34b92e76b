// The audit: a dot for each finding; verdicts, papers, a search and the dots choose the claims.

sections["audit"] = (root, data, address) => {
  const claims = [...root.querySelectorAll("[data-claim]")];
  const texts = new Map(claims.map((claim) => [claim, auditPlain(claim)]));
  const [form, table] = ["form", ".audit-dots"].map((name) => root.querySelector(name));
  const dots = [...table.querySelectorAll("a")];
  const said = element("p", { class: "audit-said note", "aria-live": "polite" }, "Each dot is a finding. Point at one.");
  table.after(said);
  let revealed = null;
  const buttons = [...root.querySelectorAll("[data-choose]")].map((place) => {
    const [word, value] = place.dataset.choose.split("=");
    const button = element("button", { title: place.title, click: () => {
      const again = word === "paper" && button.ariaPressed === "true";
      choose({ [word]: again ? null : value });
    } }, ...place.childNodes);
    place.append(button);
    return { word, value, button };
  });
  for (const claim of claims) auditLinks(claim, choose);
  for (const event of ["pointerover", "focusin"]) {
    table.addEventListener(event, ({ target }) => {
      if (target.dataset.of) said.textContent = target.ariaLabel;
    });
  }
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => choose({ words: form.elements.words.value || null }));
  const goes = [rove(table, ".audit-dots a"), rove(root.querySelector(".audit-list"), "[data-claim] > summary")];

  // Gives words of the address values, and removes a claim that was linked.
  function choose(values) {
    const all = Object.entries({ claim: null, ...values });
    address.set(Object.fromEntries(all.map(([word, value]) => [`audit.${word}`, value])));
    show();
  }

  function show() {
    const wrong = [];
    const asked = (word, usual) => {
      const value = address.get(`audit.${word}`);
      if (value === null || buttons.some((one) => one.word === word && one.value === value)) return value ?? usual;
      wrong.push(`There is no ${word} “${value}”; all are shown.`);
      return "all";
    };
    const chosen = { verdict: asked("verdict", data.verdicts[0]), paper: asked("paper", "all") };
    const words = address.get("audit.words") ?? "";
    const name = address.get("audit.claim");
    const linked = claims.find((claim) => claim.dataset.claim === name);
    if (name && !linked) wrong.push(`There is no claim “${name}”; these are shown instead.`);
    if (form.elements.words.value !== words) form.elements.words.value = words;
    const wanted = auditWords(words);
    const shown = new Set(claims.filter((claim) => claim === linked
      || (["verdict", "paper"].every((kind) => ["all", claim.dataset[kind]].includes(chosen[kind]))
        && wanted.every((word) => texts.get(claim).includes(word)))));
    for (const claim of claims) claim.hidden = !shown.has(claim);
    const found = new Set([...shown].map((claim) => claim.dataset.of));
    for (const dot of dots) dot.classList.toggle("off", !found.has(dot.dataset.of));
    for (const { word, value, button } of buttons) button.ariaPressed = chosen[word] === value;
    const meaning = buttons.find(({ value }) => value === chosen.verdict).button.title;
    form.querySelector("output").textContent = `${shown.size} of ${claims.length} claims`
      + (meaning && `, ${chosen.verdict}: ${meaning}`);
    say(form, wrong.join(" "));
    for (const go of goes) go();
    if (linked && linked !== revealed) auditReveal(linked);
    revealed = linked;
  }

  address.follow(show);
};

// The links of a claim: to a page that opens with it, and to the claims of the same cause.
function auditLinks(claim, choose) {
  const name = claim.dataset.claim;
  const here = element("a", { href: `#audit.claim=${encodeURIComponent(name)}` },
    "a link to this claim");
  claim.querySelector("dl").append(element("dt", {}, "send"), element("dd", {}, here));
  const shared = claim.querySelector("[data-cause]");
  shared?.append(" ", element("button", { click: () => choose({ words: `“${shared.dataset.cause}”`, verdict: "all", paper: null }) }, "show them"));
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
