// Which folder of lib may import what. `npm run lint` holds it, type-only imports included, and test/package/layers.spec.ts
// plants what it has to refuse.

/** What every folder may import. Its folders know each other, but no two files import each other. */
const GROUND = ['errors', 'checks', 'time', 'log', 'package-copies', 'version'];

/** Types alone, so every folder may. */
const EVERYWHERE = ['@standard-schema/spec'];

const BELOW_RUNTIME = ['audit', 'fleet', 'topics', 'events', 'broker', 'middleware', 'messages'];
const RUNTIME = ['producer', 'consumer', 'schedules', 'admin', 'monitoring', ...BELOW_RUNTIME];

/**
 * From the ground up: what a folder may import beside the ground and itself, and which packages.
 *
 * @type {Record<string, { folders?: string[]; packages?: string[] }>}
 */
const LAYERS = {
  errors: {},
  checks: {},
  time: { packages: ['ms'] },
  log: {},
  'package-copies': {},
  version: {},
  messages: {},
  middleware: { folders: ['messages'] },
  broker: { folders: ['messages'] },
  'broker/redis': { folders: ['broker', 'messages'], packages: ['ioredis'] },
  'broker/embedded': { folders: ['broker', 'broker/redis', 'messages'] },
  events: { folders: ['broker', 'messages'], packages: ['rxjs'] },
  audit: { folders: ['events', 'broker', 'messages'], packages: ['uuid'] },
  topics: { folders: ['broker', 'messages'] },
  fleet: { folders: ['events', 'broker'] },
  producer: { folders: BELOW_RUNTIME, packages: ['uuid'] },
  schedules: { folders: BELOW_RUNTIME, packages: ['croner'] },
  consumer: { folders: ['schedules', ...BELOW_RUNTIME] },
  admin: { folders: BELOW_RUNTIME, packages: ['uuid'] },
  monitoring: { folders: BELOW_RUNTIME, packages: ['rxjs'] },
  composition: { folders: [...RUNTIME, 'broker/redis', 'broker/embedded'], packages: ['uuid'] },
  // An application that only imports a decorator must not load the queue.
  decorators: { folders: ['schedules', 'messages'], packages: ['@nestjs/common'] },
  handlers: {
    folders: ['decorators', 'composition', 'consumer', 'schedules', 'messages'],
    packages: ['@nestjs/common', '@nestjs/core', 'rxjs'],
  },
  module: {
    folders: ['handlers', 'decorators', 'composition', ...RUNTIME],
    packages: ['@nestjs/common', '@nestjs/core'],
  },
  // What is served by HTTP stands on it.
  http: {},
  index: { folders: ['module', 'handlers', 'decorators', 'composition', ...RUNTIME] },
  // The entries. The testing kit works with any test runner and depends on none.
  testing: {
    folders: ['module', 'decorators', 'composition', 'topics', 'broker', 'broker/redis', 'broker/embedded', 'messages'],
    packages: ['@nestjs/common', '@nestjs/core', 'ioredis', 'uuid'],
  },
  terminus: { folders: ['decorators', 'monitoring'], packages: ['@nestjs/common', '@nestjs/core', '@nestjs/terminus'] },
  // It needs no Nest, and nothing else needs it.
  cli: {
    folders: [
      'composition',
      'dashboard',
      'admin',
      'audit',
      'schedules',
      'events',
      'broker',
      'broker/redis',
      'broker/embedded',
      'messages',
    ],
    packages: ['@commander-js/extra-typings', 'rxjs'],
  },
  prometheus: { folders: ['monitoring', 'events'], packages: ['prom-client'] },
  dashboard: {
    folders: ['http', 'decorators', 'admin', 'audit', 'broker', 'schedules', 'events', 'messages'],
    packages: ['@nestjs/common', 'rxjs'],
  },
  // It runs in a browser, so of the rest it takes types alone; the build fails at anything else.
  'dashboard/browser': {
    folders: ['dashboard', 'admin', 'audit', 'schedules', 'events', 'messages'],
    packages: ['preact', '@preact/signals', 'uplot', 'cronstrue', 'vite'],
  },
  opentelemetry: { folders: ['middleware', 'messages'], packages: ['@opentelemetry/api'] },
};

/** A pattern of the files of a folder, or of one file at the top of lib; without its subfolders where they are layers. */
function filesOf(layer) {
  const inner = Object.keys(LAYERS)
    .filter((other) => other.startsWith(`${layer}/`))
    .map((other) => other.slice(layer.length + 1));
  const without = inner.length > 0 ? `(?!(${inner.join('|')})/)` : '';
  return `^lib/${layer}(\\.ts$|/${without})`;
}

const layerRules = Object.entries(LAYERS).map(([layer, { folders = [], packages = [] }]) => ({
  name: layer,
  severity: 'error',
  comment: `lib/${layer} may import ${[...folders, ...packages].join(', ') || 'nothing'} beside the ground.`,
  from: { path: filesOf(layer) },
  to: {
    dependencyTypesNot: ['core'],
    pathNot: [
      ...[layer, ...folders, ...GROUND].map(filesOf),
      ...[...packages, ...EVERYWHERE].map((name) => `(^|/)node_modules/${name}/`),
    ],
  },
}));

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    {
      name: 'no-circle',
      severity: 'error',
      comment: 'Files that import each other, types included, cannot be understood one after the other.',
      from: {},
      to: { circular: true },
    },
    ...layerRules,
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
};
