// The page of one plan.

const PLAN_STEP_MS = 600;

// Copies the address of this moment; in a notebook, which has none, it saves the page.
async function sharePlan() {
  if (location.protocol === "about:") {
    const page = new Blob([window.frameElement.srcdoc], { type: "text/html" });
    const link = element("a", { href: URL.createObjectURL(page), download: `${document.title}.html` });
    link.click();
    return "The page is saved as a file, which any browser opens.";
  }
  try {
    await navigator.clipboard.writeText(location.href);
    return "The link to this pass and texel is copied.";
  } catch {
    return "The browser does not let a page copy; the address of this page is the link.";
  }
}

sections.plan = async (root, data, address) => {
  const played = await PlayedPlan.open(data, PLAN_STEP_MS, ({ pass, texel }) => {
    address.set({ "plan.pass": pass, "plan.texel": texel });
  });
  const faults = element("div");
  const share = element("button", {
    class: "plan-share", click: async () => say(faults, await sharePlan()),
  }, location.protocol === "about:" ? "Save this page" : "Copy a link to this moment");
  root.append(faults, played.root);
  played.transport.root.append(share);
  address.follow(() => {
    say(faults, played.follow(address.get("plan.pass"), address.get("plan.texel")));
  });
};
