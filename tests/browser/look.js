// What is wrong with a page for those who do not see it, use no mouse, or see little: as sentences.
() => {
  const wrong = [];
  const visible = (node) => node.checkVisibility({ visibilityProperty: true });
  const words = (node) => node.outerHTML.replace(/\s+/g, " ").slice(0, 110);

  // Names.
  for (const control of document.querySelectorAll("button, select, input, canvas[tabindex]")) {
    const named = control.getAttribute("aria-label") || control.textContent.trim() && control.tagName === "BUTTON" ||
      [...(control.labels ?? [])].some((label) => label.textContent.trim()) || control.getAttribute("aria-labelledby");
    if (!named) wrong.push(`no name: ${words(control)}`);
  }
  for (const region of document.querySelectorAll("[role=region], [role=group], [role=grid], nav, figure svg[role=img]")) {
    if (!region.getAttribute("aria-label") && !region.getAttribute("aria-labelledby")) wrong.push(`no name: ${words(region)}`);
  }
  for (const image of document.images) if (!image.hasAttribute("alt")) wrong.push(`no alt: ${words(image)}`);

  // Order.
  let level = 0;
  for (const heading of document.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    const own = Number(heading.tagName[1]);
    if (own > level + 1) wrong.push(`a heading leaves out a level: ${words(heading)}`);
    level = own;
  }
  for (const [tag, count] of [["main", 1], ["h1", 1]]) {
    if (document.querySelectorAll(tag).length !== count) wrong.push(`not one ${tag}`);
  }
  const ids = [...document.querySelectorAll("[id]")].map(({ id }) => id);
  for (const id of new Set(ids)) if (ids.indexOf(id) !== ids.lastIndexOf(id)) wrong.push(`two of id ${id}`);

  // Keys: a control is in the order of Tab, or in a group of which one is.
  for (const control of document.querySelectorAll("main :is(button, select, input, summary, canvas)")) {
    if (!visible(control) || control.disabled || control.tabIndex >= 0) continue;
    const group = control.closest("[role=grid], [role=group], [role=region], [role=radiogroup], [role=tablist]");
    const near = group && [...group.querySelectorAll("*")].some((other) => other.tabIndex >= 0);
    if (control.tagName !== "CANVAS" && !near) wrong.push(`no key comes to: ${words(control)}`);
  }
  for (const box of document.querySelectorAll("main *")) {
    const scrolls = box.scrollWidth > box.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(box).overflowX);
    if (!scrolls || !visible(box) || box.tabIndex >= 0) continue;
    const inside = box.querySelector("button, a, input, select, [tabindex='0']");
    if (!inside) wrong.push(`no key scrolls: ${words(box)}`);
  }

  // Contrast, by WCAG 2.
  const parsed = (colour) => {
    const context = Object.assign(document.createElement("canvas"), { width: 1, height: 1 })
      .getContext("2d", { willReadFrequently: true });
    context.fillStyle = colour;
    context.fillRect(0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data];
  };
  const cache = new Map();
  const rgba = (colour) => {
    if (!cache.has(colour)) cache.set(colour, parsed(colour));
    return cache.get(colour);
  };
  const light = (colour) => {
    const [r, g, b] = rgba(colour).map((part) =>
      part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const seen = new Set();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const node = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !visible(node) || node.closest("svg, select, script, [aria-disabled=true]")) continue;
    const style = getComputedStyle(node);
    let ground = node;
    while (ground && (rgba(getComputedStyle(ground).backgroundColor)[3] < 255)) {
      if (getComputedStyle(ground).backgroundImage !== "none") break;
      ground = ground.parentElement;
    }
    if (!ground || getComputedStyle(ground).backgroundImage !== "none") continue;
    const [a, b] = [light(style.color), light(getComputedStyle(ground).backgroundColor)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const size = parseFloat(style.fontSize);
    const least = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    const kind = `${node.tagName}.${node.className} ${style.color}`;
    if (ratio < least && !seen.has(kind)) {
      seen.add(kind);
      wrong.push(`contrast of ${ratio.toFixed(2)}: ${words(node)}`);
    }
  }
  return wrong;
};
