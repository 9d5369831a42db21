// node release.js FILE [FILE ...] reads releases of a whole state, or of all its parts, and recomputes the estimate.
// It needs Node alone, and follows docs/streams.md, "A release, for other programs". It prints JSON: density or users,
// with the predicted standard error; a list where there are groups. Exact intervals take more than this.
const refuse = (name, why) => { throw new Error(`${name}: ${why}`); };

function read(text, name = "release") {
  let release;
  try { release = JSON.parse(text); } catch { refuse(name, "is not JSON"); }
  if (release?.kind !== "panbayes release") refuse(name, "is not a release");
  if (release.version !== 1) refuse(name, `is of version ${release.version}, and this reads version 1`);
  if (!["density", "distinct"].includes(release.statistic)) refuse(name, `is of "${release.statistic}"`);
  if (release.counts.length !== release.sections.length) refuse(name, "has not one count for each section");
  return release;
}

// All parts of one state, each once, as one release: counts are added up, and so are the numbers of their noises.
function combine(releases) {
  const [first] = releases, shared = ({ part, counts, noise, ...rest }) => JSON.stringify([noise.scale, rest]);
  for (const one of releases) {
    if (one.part === null) refuse("releases", "one is not of a part: give it alone");
    if (shared(one) !== shared(first)) refuse(`part ${one.part}`, "is of another stream, period or release");
  }
  for (let part = 1; part <= first.parts; part++) {
    const found = releases.filter((one) => one.part === part);
    if (found.length !== 1) refuse(`part ${part} of ${first.parts}`, found.length ? "is there twice" : "is missing");
  }
  const [counts, terms] = [(one) => one.counts, (one) => one.noise.terms].map((of) =>
    first.counts.map((_, t) => releases.reduce((sum, one) => sum + of(one)[t], 0)));
  return { ...first, part: null, counts, noise: { ...first.noise, terms } };
}

function estimate(release) {
  if (release.part !== null) refuse("release", `is part ${release.part} of ${release.parts}: give all of them`);
  if (release.statistic === "density") return density(release);
  if (release.by === null) return distinct(release, release.sections.map((_, t) => t));
  const groups = new Map(release.sections.map(({ group }) => [group, []]));
  release.sections.forEach(({ group }, t) => groups.get(group).push(t));
  return [...groups].map(([group, places]) => ({ group, ...distinct(release, places) }));
}

function noiseVariance({ noise }, t) {
  const [over, under = 1] = noise.scale.split("/").map(Number);
  return (noise.terms[t] * 2 * Math.exp(-under / over)) / Math.expm1(-under / over) ** 2;
}

function density(release) {
  const { law, users, forget } = release, [{ cells }] = release.sections;
  const mean = (chances, power) => chances.reduce((sum, p, j) => sum + (p / law.out_of) * law.scores[j] ** power, 0);
  const [without, among] = [mean(law.init, 1), mean(law.update, 1)], apart = among - without;
  const unbiased = (release.counts[0] / cells - without) / apart, d = Math.min(1, Math.max(0, unbiased));
  const own = (1 - d) * (mean(law.init, 2) - without ** 2) + d * (mean(law.update, 2) - among ** 2);
  // With a half-life, as if the entries were a sample of infinitely many.
  const rest = forget > 0 && forget < law.out_of ? 1 : users > 1 ? (users - cells) / (users - 1) : 0;
  const variance = cells * (own + apart ** 2 * d * (1 - d) * rest) + noiseVariance(release, 0);
  return { density: d, unbiased, users: Math.round(d * users), error: Math.sqrt(variance) / (cells * apart) };
}

function distinct(release, places) {
  const { law, forget, sections, counts } = release, [{ cells }] = sections;
  const noise = counts.map((_, t) => noiseVariance(release, t));
  const [p0, p1] = [law.init[1] / law.out_of, law.update[1] / law.out_of], apart = p1 - p0;
  const thin = forget > 0 && forget < law.out_of ? 256 : 1;
  const tiers = places.map((t) => ({ spread: thin * sections[t].spread, count: counts[t], t }));
  // What the count of a tier says of n users: how far it is above its mean, ln of the mean's slope, the variance.
  const look = ({ spread, count, t }, n) => {
    const rate = -Math.log1p(-1 / spread), empty = Math.exp(-n * rate);
    const together = Math.expm1(n * Math.log1p(-1 / (spread - 1) ** 2));
    const occupied = cells * (cells - 1) * empty ** 2 * together + cells * (empty - empty ** 2);
    const own = cells * (p0 * (1 - p0) * empty + p1 * (1 - p1) * (1 - empty));
    const slope = Math.log(cells * apart * rate) - n * rate, mean = cells * (p0 - apart * Math.expm1(-n * rate));
    return { above: count - mean, slope, variance: own + apart ** 2 * Math.max(0, occupied) + noise[t] };
  };
  const excess = (n) => {
    const seen = tiers.map((tier) => look(tier, n)), logs = seen.map((one) => one.slope - Math.log(one.variance));
    return seen.reduce((sum, one, t) => sum + Math.exp(logs[t] - Math.max(...logs)) * one.above, 0);
  };
  const most = Math.ceil(Math.max(...tiers.map((tier) => tier.spread)) * Math.log(2 * cells));
  let [low, high, steps] = [0, 0, Math.ceil(16 * Math.log(most))];
  // The first of these numbers at which the counts are less than expected; then what lies between it and the last.
  for (let k = 0; k < steps && excess(high) >= 0; k++) [low, high] = [high, most ** (k / (steps - 1))];
  if (excess(high) >= 0) low = high;
  while (high - low > 1e-9 * high) {
    const middle = (low + high) / 2;
    [low, high] = excess(middle) < 0 ? [low, middle] : [middle, high];
  }
  const users = Math.round(low / thin), at = thin * Math.max(1, users);
  const logs = tiers.map((tier) => look(tier, at)).map((one) => 2 * one.slope - Math.log(one.variance));
  const said = Math.max(...logs) + Math.log(logs.reduce((sum, one) => sum + Math.exp(one - Math.max(...logs)), 0));
  return { users, relative_error: Math.exp(Math.min(700, -said / 2 - Math.log(at))) };
}

module.exports = { read, combine, estimate };
if (require.main === module) {
  try {
    if (process.argv.length < 3) refuse("usage", "node release.js FILE [FILE ...]");
    const releases = process.argv.slice(2).map((name) => read(require("node:fs").readFileSync(name, "utf8"), name));
    console.log(JSON.stringify(estimate(releases.length === 1 ? releases[0] : combine(releases))));
  } catch (error) { console.error(`error: ${error.message}`); process.exitCode = 2; }
}
