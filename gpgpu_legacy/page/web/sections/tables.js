// The tables: verdicts become links to the audit, and a choice shows only what differs.

sections["tables"] = (root, data, address) => {
  const lines = [...root.querySelectorAll("[data-claim-of]")];
  const only = element("input", { type: "checkbox", change: () => {
    address.set({ "tables.differs": only.checked ? "yes" : null });
    show();
  } });
  const count = element("output", { class: "soft" });
  const choice = element("div", { class: "tables-only" },
    element("label", {}, only, " only what differs"), " ", count);
  root.querySelector("h3").before(choice);
  for (const line of lines) {
    const verdict = line.querySelector(".audit-verdict");
    if (!document.getElementById("audit")) break;
    const link = element("a", {
      href: `#audit.claim=${encodeURIComponent(line.dataset.claimOf)}`,
      "aria-label": `${verdict.textContent}: its claim in the audit`,
    });
    link.append(...verdict.childNodes);
    verdict.append(link);
  }
  function show() {
    const asked = address.get("tables.differs");
    const wrong = asked !== null && asked !== "yes";
    only.checked = asked === "yes";
    let shown = 0;
    for (const line of lines) {
      line.hidden = only.checked && !line.querySelector(".audit-differs");
      shown += !line.hidden;
    }
    for (const table of root.querySelectorAll(".tables-table")) {
      table.hidden = !table.querySelector("[data-claim-of]:not([hidden])");
      if (only.checked) table.open = true;
    }
    count.textContent = `${shown} of ${lines.length} cells`;
    say(choice, wrong ? `“${asked}” says nothing of tables.differs; all cells are shown.` : "");
  }

  address.follow(show);
};
