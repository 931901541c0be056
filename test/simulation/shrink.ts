import type { Copy } from './product/evaluate.js';
import type { Plan } from './plan.js';
import { type Outcome, simulate } from './simulate.js';
import { CALM, type Faults } from './world/faults.js';

/** Most simulations of a search. */
const MOST_TRIES = 500;

/** The plan with the fewest kinds of faults, accidents, topics, processes and messages found that breaks the same promise. */
export async function shrink(copy: Copy, plan: Plan): Promise<Plan> {
  const search = new Search(copy, await simulate(copy, plan));
  await search.try({ ...search.plan, messages: search.latest.messages + 1 });
  await dropTopics(search);
  const drawn = Object.keys(CALM) as (keyof Faults)[];
  for (const name of drawn.filter((one) => search.latest.faults[one] !== CALM[one])) {
    await search.try({ ...search.plan, without: [...(search.plan.without ?? []), name] });
  }
  for (let processes = 1; processes < search.plan.processes; processes++) {
    if (await search.try({ ...search.plan, processes })) break;
  }
  await dropAccidents(search);
  await search.try({ ...search.plan, messages: search.latest.messages + 1 });
  return search.plan;
}

/** One of them alone, or as few as break it together. */
async function dropTopics(search: Search): Promise<void> {
  const { topics } = search.latest;
  for (const topic of topics) if (await search.try({ ...search.plan, topics: [topic] })) return;
  for (const topic of topics) {
    await search.try({ ...search.plan, topics: search.latest.topics.filter((one) => one !== topic) });
  }
}

/** Leaves out half of them, then a quarter, and so on (Zeller's ddmin). */
async function dropAccidents(search: Search): Promise<void> {
  await search.try({ ...search.plan, only: search.latest.accidents });
  for (let parts = 2; ;) {
    const { only = [] } = search.plan;
    const size = Math.ceil(only.length / parts);
    let isSmaller = false;
    for (let from = 0; from < only.length && !isSmaller; from += size) {
      isSmaller = await search.try({ ...search.plan, only: [...only.slice(0, from), ...only.slice(from + size)] });
    }
    if (isSmaller) parts = Math.max(2, parts - 1);
    else if (size <= 1) return;
    else parts *= 2;
  }
}

class Search {
  plan: Plan;
  latest: Outcome;
  readonly #copy: Copy;
  readonly #rule: string | undefined;
  #tries = 0;

  constructor(copy: Copy, outcome: Outcome) {
    this.#copy = copy;
    this.plan = outcome.plan;
    this.latest = outcome;
    this.#rule = outcome.violations[0]?.rule;
  }

  /** Takes the plan if it breaks the promise, too. */
  async try(plan: Plan): Promise<boolean> {
    if (this.#tries++ >= MOST_TRIES) return false;
    const outcome = await simulate(this.#copy, plan);
    if (outcome.violations[0]?.rule !== this.#rule) return false;
    this.plan = plan;
    this.latest = outcome;
    return true;
  }
}
