/**
 * `npm start`: runs the order service of sample/01-order-timeout on a real Redis, from a fresh clone, or the applications of
 * the sample that `--sample <name>` names. Where there is no Redis and none can be installed, a sample of one application keeps its
 * messages in its own process. Passes other arguments to the sample and exits with the sample's exit code.
 */
import { applicationsOf, buildSample, ensureLibraryBuilt } from './setup/build.mjs';
import { ensureDependencies } from './setup/dependencies.mjs';
import { runScript } from './setup/failure.mjs';
import { ensureProgramsOf } from './setup/programs.mjs';
import { startRedis } from './setup/redis.mjs';
import { runApplication } from './setup/run.mjs';

const DEFAULT_SAMPLE = '01-order-timeout';

await runScript(async () => {
  const { sample, args } = parse(process.argv.slice(2));
  const applications = applicationsOf(sample);
  await ensureDependencies();
  await ensureProgramsOf(sample);
  const redis = await startRedis({ orEmbedded: applications.length === 1 });
  try {
    await ensureLibraryBuilt();
    await buildSample(sample);
    return await runAll(applications, args, redis.url);
  } finally {
    await redis.stop();
  }
});

/** Takes `--sample <name>` out of the arguments. */
function parse(args) {
  const at = args.indexOf('--sample');
  if (at === -1) return { sample: DEFAULT_SAMPLE, args };
  return { sample: args[at + 1] ?? '', args: args.toSpliced(at, 2) };
}

/** Returns the exit code of the application that ends first: the others are useless without it, so they are ended too. */
async function runAll(applications, args, redisUrl) {
  const end = new AbortController();
  let exitCode;
  await Promise.all(
    applications.map(async (application) => {
      const { code } = await runApplication(application, args, { redisUrl, stdin: true, end: end.signal });
      exitCode ??= code;
      end.abort();
    }),
  );
  return exitCode;
}
