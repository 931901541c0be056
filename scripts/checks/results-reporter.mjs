import { writeFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';

/** Vitest's reporter that writes what `run-tests.mjs` reads: each file with its time, and what did not pass with its errors. */
// oxlint-disable-next-line import/no-default-export -- Vitest takes that of a file it is told
export default class ResultsReporter {
  #file;

  onInit(vitest) {
    this.#file = vitest.config.outputFile.results;
  }

  onTestRunEnd(modules, unhandled) {
    const files = modules.map((module) => fileOf(module, unhandled));
    const errors = unhandled.filter((error) => !modules.some((module) => isOf(module, error))).map(textOf);
    writeFileSync(this.#file, JSON.stringify({ files, errors }));
  }
}

function fileOf(module, unhandled) {
  const tests = [...module.children.allTests()].map((test) => {
    const { state, errors = [] } = test.result();
    return { name: test.fullName, state, errors: errors.map(textOf) };
  });
  // A hook's error stands at its suite.
  const suites = [module, ...module.children.allSuites()];
  const errors = [...suites.flatMap((suite) => suite.errors()), ...unhandled.filter((error) => isOf(module, error))];
  return {
    file: module.relativeModuleId,
    project: module.project.name,
    milliseconds: timeOf(module.diagnostic()),
    tests,
    errors: errors.map(textOf),
  };
}

function timeOf({ environmentSetupDuration, prepareDuration, collectDuration, setupDuration, duration }) {
  return environmentSetupDuration + prepareDuration + collectDuration + setupDuration + duration;
}

/** Whether an error that no test has caught came while this file ran. */
function isOf(module, error) {
  return error.VITEST_TEST_PATH === module.moduleId;
}

/** What was expected is in the message or in the difference, which may have colours; of the stack only the place in our own code says more. */
function textOf({ name, message, stack = '', diff }) {
  const place = stack
    .split('\n')
    .find((line) => /^\s+at /.test(line) && !line.includes('node_modules') && !line.includes('node:'));
  return stripVTControlCharacters([`${name}: ${message}`, diff, place?.trim()].filter(Boolean).join('\n'));
}
