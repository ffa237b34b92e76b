// Scenes of all small shapes of a method, out of what page/families.py makes.

// The scene of an m×l times l×n product. Throws PlanError for sizes that the family has not.
function familyScene(family, m, l, n) {
  const given = { m, l, n };
  for (const [size, value] of Object.entries(given)) {
    if (!Number.isInteger(value) || value < 1 || value > family.largest) {
      throw new PlanError(`${size} is ${value}; sizes are whole numbers, 1 to ${family.largest}.`);
    }
  }
  const columns = family.columns.map(({ sizes, values }) => {
    let place = 0;
    for (const size of sizes) place = place * family.largest + given[size] - 1;
    return values[place];
  });
  const scene = withNumbers(family.templates[columns[family.choice]], columns);
  scene.programs = {};
  for (const [name, number] of Object.entries(scene.plan.programs)) {
    const { text, ...program } = family.programs[number];
    scene.plan.programs[name] = text;
    scene.programs[name] = program;
  }
  return scene;
}

// A copy of a value with numbers of columns in the places of `{"$": i}`.
function withNumbers(value, columns) {
  if (Array.isArray(value)) return value.map((item) => withNumbers(item, columns));
  if (value === null || typeof value !== "object") return value;
  if ("$" in value) return columns[value.$];
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, withNumbers(item, columns)]),
  );
}
