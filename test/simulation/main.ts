import { fork } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { PLAN_OPTIONS, type Plan, planOf, savedPlan } from './plan.js';
import { evaluate } from './product/evaluate.js';
import { shrink } from './shrink.js';
import { type Outcome, simulate } from './simulate.js';
import { TimeLine } from './time-line.js';

/** The program of `npm run simulate`, which says what its options are. */
const { values } = parseArgs({
  options: {
    ...PLAN_OPTIONS,
    product: { type: 'string', default: '' },
    beside: { type: 'string' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
    deliveries: { type: 'string' },
    minutes: { type: 'string' },
    jobs: { type: 'string', default: String(availableParallelism()) },
    plan: { type: 'string' },
    lines: { type: 'boolean', default: false },
    each: { type: 'boolean', default: false },
    first: { type: 'boolean', default: false },
    brief: { type: 'boolean', default: false },
    worker: { type: 'boolean', default: false },
  },
});

const DELIVERIES = 1_000_000;

/** What a worker says of a seed. */
interface Report {
  readonly seed: number;
  readonly hash: string;
  readonly deliveries: number;
  readonly calls: number;
  readonly repeats: number;
  readonly accidents: number;
  readonly lasted: number;
  readonly broken: string | undefined;
}

const copy = evaluate(readFileSync(values.product, 'utf8'));
if (values.beside !== undefined) copy.beside = evaluate(readFileSync(values.beside, 'utf8'));

if (values.worker) work();
else if (values.plan !== undefined) await replay(savedPlan(readFileSync(values.plan, 'utf8')));
else await playAll();

/** Plays the seeds that it is sent. */
function work(): void {
  process.on('message', (seed: number) => {
    simulate(copy, planOf(values, seed))
      .then((outcome) => process.send?.(reportOf(outcome)))
      .catch((error: unknown) => {
        console.error(`seed ${seed}:`, error);
        process.exit(2);
      });
  });
}

function reportOf({ plan, hash, deliveries, calls, repeats, accidents, lasted, violations }: Outcome): Report {
  const [first] = violations;
  const broken = first && `${first.rule}: ${first.text}`;
  return { seed: plan.seed, hash, deliveries, calls, repeats, accidents: accidents.length, lasted, broken };
}

async function playAll(): Promise<void> {
  const { minutes, deliveries = minutes === undefined ? DELIVERIES : Infinity } = values;
  const until = minutes === undefined ? Infinity : performance.now() + Number(minutes) * 60_000;
  const begunAt = performance.now();
  const total = { seeds: 0, deliveries: 0, calls: 0, repeats: 0, accidents: 0, lasted: 0 };
  const broken: Report[] = [];
  let next = Number(values.seed);
  console.log(`From seed ${next} on, ${values.messages} messages each`);
  const isEnough = (): boolean =>
    total.deliveries >= Number(deliveries) || performance.now() >= until || (values.first && broken.length > 0);
  const take = (report: Report): void => {
    total.seeds++;
    for (const name of ['deliveries', 'calls', 'repeats', 'accidents', 'lasted'] as const) total[name] += report[name];
    if (values.each) console.log(`seed ${report.seed}: ${report.hash} after ${report.deliveries} deliveries`);
    if (report.broken === undefined) return;
    broken.push(report);
    console.log(`seed ${report.seed}: ${report.broken.slice(0, 400)}`);
  };
  const jobs = Array.from({ length: Number(values.jobs) }, async () => {
    const worker = fork(process.argv[1] as string, [...process.argv.slice(2), '--worker']);
    await new Promise<void>((resolve, reject) => {
      worker.on('exit', (code) =>
        code === 0 || code === null ? resolve() : reject(new Error(`A worker ended with ${code}`)),
      );
      const more = (): void => {
        if (isEnough()) worker.disconnect();
        else worker.send(next++);
      };
      worker.on('message', (report: Report) => {
        take(report);
        more();
      });
      more();
    });
  });
  await Promise.all(jobs);
  const seconds = (performance.now() - begunAt) / 1000;
  console.log(
    `${total.deliveries} deliveries of ${total.seeds} seeds, ${total.repeats} of them again, with ${total.accidents} accidents: ` +
      `${(total.lasted / 3_600_000).toFixed(1)} h in ${seconds.toFixed(0)} s, ${(total.deliveries / seconds).toFixed(0)} a second. ` +
      `${(total.calls / total.deliveries).toFixed(1)} calls each. ${broken.length} seeds broke a promise.`,
  );
  const [first] = broken.toSorted((a, b) => a.deliveries - b.deliveries);
  if (!first) return;
  process.exitCode = 1;
  if (!values.brief) await explain(planOf(values, first.seed));
}

/** Looks for the smallest plan that breaks the same promise, and tells what happens there. */
async function explain(plan: Plan): Promise<void> {
  console.log(`\nLooking for the least that breaks seed ${plan.seed} …`);
  const smallest = await shrink(copy, plan);
  const file = `dist-simulation/seed-${plan.seed}.json`;
  writeFileSync(file, `${JSON.stringify(smallest, undefined, 2)}\n`);
  await replay(smallest);
  console.log(`\nTo see it again: npm run simulate -- --plan ${file}`);
}

async function replay(plan: Plan): Promise<void> {
  const line = new TimeLine(values.lines);
  const outcome = await simulate(copy, plan, (...event) => line.add(...event));
  console.log(line.tell(outcome));
  if (outcome.violations.length > 0) process.exitCode = 1;
}
