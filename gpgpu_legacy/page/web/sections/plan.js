// The page of one plan.

const PLAN_STEP_MS = 600;

sections.plan = async (root, data, address) => {
  const played = await PlayedPlan.open(data, PLAN_STEP_MS, ({ pass, texel }) => {
    address.set({ "plan.pass": pass, "plan.texel": texel });
  });
  const faults = element("div");
  root.append(faults, played.root);
  address.follow(() => {
    say(faults, played.follow(address.get("plan.pass"), address.get("plan.texel")));
  });
};
