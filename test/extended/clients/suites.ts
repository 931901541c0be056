export interface Command {
  /** What is run; it has to be installed, see `scripts/setup/programs.mjs`. */
  readonly command: string;
  readonly args: readonly string[];
  /** Below the root folder. */
  readonly folder: string;
}

/** How the behaviours of a client are run. */
export interface Suite extends Command {
  /** Its topics begin with it. */
  readonly name: string;
  /** Which rows of `clients/BEHAVIOUR.md` it has to show besides those marked "all". */
  readonly shows: 'all' | 'clients';
}

/** The only place that says how the tests of a client are run. */
export const SUITES: readonly Suite[] = [
  { name: 'curl', shows: 'all', command: 'bash', args: ['behaviour.sh'], folder: 'clients/curl' },
  { name: 'go', shows: 'clients', command: 'go', args: ['run', './behaviour'], folder: 'clients/go' },
  { name: 'php', shows: 'clients', command: 'php', args: ['tests/behaviour.php'], folder: 'clients/php' },
  { name: 'python', shows: 'clients', command: 'python3', args: ['tests/test_behaviour.py'], folder: 'clients/python' },
];

/** The checks of clients beside those. */
export const WITHOUT_A_GATEWAY: readonly Command[] = [
  { command: 'go', args: ['vet', './...'], folder: 'clients/go' },
  // What it has cached would be no trial.
  { command: 'go', args: ['test', '-count=1', './...'], folder: 'clients/go' },
  { command: 'php', args: ['tests/unit.php'], folder: 'clients/php' },
  { command: 'mypy', args: ['--no-incremental'], folder: 'clients/python' },
  { command: 'python3', args: ['-m', 'unittest', 'discover', '-s', 'tests'], folder: 'clients/python' },
];
