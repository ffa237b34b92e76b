// Exercises that ask for a number check it; why it is so stands in the answers.

sections.exercises = (root) => {
  for (const item of root.querySelectorAll("[data-right]")) {
    const right = readNumber(item.dataset.right).value;
    item.replaceChildren(new Question({
      asks: item.textContent, typed: true, hint: "The link above leads to where it can be counted.", tell: (given) => [given === right, `${item.dataset.right}.`],
    }).root);
  }
};
