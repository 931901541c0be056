// Which folder of lib and tools may import what. `npm run lint` holds it, type-only imports included, and test/package/layers.spec.ts
// plants what it has to refuse.

import { posix } from 'node:path';

/** What every folder may import. Its folders know each other, but no two files import each other. */
const GROUND = ['errors', 'checks', 'time', 'log', 'package-copies', 'version'];

/** Types alone, so every folder may. */
const EVERYWHERE = ['@standard-schema/spec'];

const BELOW_RUNTIME = ['fleet', 'events', 'store', 'middleware', 'messages'];
const CONSUMER = [
  'consumer',
  'consumer/pulling',
  'consumer/ownership',
  'consumer/delivery',
  'consumer/admission',
  'consumer/upkeep',
];
const RUNTIME = [...CONSUMER, 'producer', 'schedules', 'admin', 'monitoring', ...BELOW_RUNTIME];

const STORE = ['store', 'store/lua'];
const REDIS = ['engines/redis', 'engines/redis/scripts', 'engines/redis/connection'];

/** Where faces begin: what applications import. */
const ENTRIES = ['index', 'admin/index'];

/**
 * What faces take beside the entries, HTTP and the ground, file by file: what applications have no use for, and functions of which the
 * entry would load Nest. A face that needs one more has to say why here; test/package/layers.spec.ts tells which nobody needs any more.
 */
export const INNER = {
  cli: [
    // It connects as applications do, but without Nest, and to whatever is given.
    'composition/redis-option',
    'composition/create-delay-queue-admin',
    'composition/delay-queue.connection',
    'composition/open-gateway-connection',
    'engines/embedded/process-server',
    // The other Redis of an import.
    'engines/redis/connection/redis-clients',
    'engines/redis/connection/redis-connection',
    // The command `acl`.
    'engines/redis/scripts/rights',
    // The command `outbox`.
    'outbox/table/ddl',
    'outbox/table/outbox-adapter.interface',
    // What can be given, and what is wrong with it.
    'admin/peek',
    'messages/message-options',
    'messages/topic',
    // What is late, and failures in words: as in the dashboard.
    'admin/topic-stats',
    'messages/failure',
  ],
  dashboard: [
    'nest/decorators/delay-queue.tokens',
    'events/audit-log',
    'admin/topic-stats',
    'admin/viewed-messages',
    'schedules/last-runs',
    // Types that the entry has too: the pages are checked with them, without Nest.
    'admin/delay-queue.admin',
    'events/delay-queue.events',
    'messages/failure',
    'messages/message-ref',
    'schedules/delay-queue.schedules',
    'schedules/schedule.interface',
  ],
  gateway: [
    'nest/decorators/delay-queue.tokens',
    'events/audit-log',
    // What can be given, of which its schemas are made.
    'messages/message-options',
    'messages/topic',
    'schedules/check-schedule',
    'store/partition',
    // Calls that can be made again.
    'messages/operation',
    // Messages that a program has in hand.
    'consumer/pulling/receipt',
    'consumer/pulling/received-outcome',
    'consumer/pulling/room',
    'messages/publish-many.error',
  ],
  outbox: [
    // Calls of its producer are written, and it relays as the connection publishes.
    'composition/delay-queue.connection',
    'nest/decorators/delay-queue.tokens',
    'nest/module/async-options',
    'producer/outbox.interface',
    'messages/message-ref',
    'messages/publish-options.interface',
  ],
  opentelemetry: ['messages/failure', 'messages/handler-results', 'messages/publish-many.error'],
  terminus: ['nest/decorators/delay-queue.tokens'],
};

/**
 * From the ground up: what a folder, as seen from lib, may import beside the ground and itself, and which packages.
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
  // What is in Redis.
  'store/lua': {},
  store: { folders: ['store/lua', 'messages'] },
  // Who runs it. No engine knows of another one.
  'engines/redis/connection': { folders: ['store'], packages: ['ioredis'] },
  'engines/redis/scripts': {
    folders: ['engines/redis/connection', 'store', 'store/lua', 'messages'],
    packages: ['ioredis'],
  },
  'engines/redis/doctor': {
    folders: ['engines/redis/scripts', 'engines/redis/connection', 'store'],
    packages: ['ioredis'],
  },
  'engines/redis': { folders: ['engines/redis/doctor', ...REDIS, ...STORE, 'messages'], packages: ['ioredis'] },
  'engines/embedded': { folders: [...STORE, 'messages'] },
  events: { folders: ['store', 'messages'], packages: ['rxjs', 'uuid'] },
  fleet: { folders: ['events', 'store', 'messages'] },
  producer: { folders: BELOW_RUNTIME, packages: ['uuid'] },
  schedules: { folders: BELOW_RUNTIME, packages: ['croner'] },
  'consumer/upkeep': { folders: ['consumer', 'schedules', ...BELOW_RUNTIME] },
  'consumer/admission': { folders: ['consumer', ...BELOW_RUNTIME] },
  'consumer/delivery': { folders: ['consumer', 'consumer/admission', 'consumer/upkeep', ...BELOW_RUNTIME] },
  'consumer/ownership': { folders: ['consumer', 'consumer/delivery', ...BELOW_RUNTIME] },
  'consumer/pulling': {
    folders: ['consumer', 'consumer/ownership', 'consumer/delivery', 'consumer/admission', ...BELOW_RUNTIME],
  },
  consumer: { folders: [...CONSUMER, ...BELOW_RUNTIME] },
  admin: { folders: ['producer', ...BELOW_RUNTIME], packages: ['uuid'] },
  // What operators can do, declared once for all who offer it.
  'admin/catalogue': { folders: ['admin', 'schedules', 'events', 'store', 'messages'] },
  monitoring: { folders: BELOW_RUNTIME, packages: ['rxjs'] },
  'outbound/push': { folders: ['messages'], packages: ['ipaddr.js'] },
  'outbound/forward': { folders: ['messages'], packages: ['rxjs'] },
  outbound: { folders: ['outbound/push', 'outbound/forward', 'consumer', 'fleet', 'messages'] },
  composition: {
    folders: [...RUNTIME, 'outbound', 'outbound/push', 'outbound/forward', ...REDIS, 'engines/embedded'],
    packages: ['uuid'],
  },
  // An application that only imports a decorator must not load the queue.
  'nest/decorators': { folders: ['schedules', 'messages'], packages: ['@nestjs/common'] },
  'nest/handlers': {
    folders: ['nest/decorators', 'composition', ...CONSUMER, 'schedules', 'messages'],
    packages: ['@nestjs/common', '@nestjs/core', 'rxjs'],
  },
  'nest/module': {
    folders: ['nest/handlers', 'nest/decorators', 'composition', ...RUNTIME],
    packages: ['@nestjs/common', '@nestjs/core'],
  },
  // What is served over HTTP stands on it. The program serves without Nest.
  http: { packages: ['rou3'] },
  'http/mount': { folders: ['http', 'nest/decorators'], packages: ['@nestjs/common', '@nestjs/core'] },
  index: {
    folders: [
      'outbound/push',
      'outbound/forward',
      'nest/module',
      'nest/handlers',
      'nest/decorators',
      'composition',
      ...RUNTIME,
    ],
  },
  // The entries.
  'admin/index': { folders: ['admin', 'monitoring', 'events', 'fleet', 'store'] },
  // The testing kit works with any test runner and depends on none.
  testing: {
    folders: ['nest/module', 'nest/decorators', 'composition', ...REDIS, 'engines/embedded', ...STORE, 'messages'],
    packages: ['@nestjs/common', '@nestjs/core', 'ioredis', 'uuid'],
  },
  terminus: {
    folders: [...ENTRIES, ...INNER.terminus],
    packages: ['@nestjs/common', '@nestjs/core', '@nestjs/terminus'],
  },
  // It knows the keys of BullMQ, of which it needs nothing else, and reaches the queues through one file.
  '../tools/import-bullmq/import-goal': { folders: ['../tools/import-bullmq', 'producer', 'store', 'messages'] },
  '../tools/import-bullmq': {
    folders: [
      '../tools/import-bullmq/import-goal',
      'engines/redis/connection/redis-connection',
      'admin/fingerprint',
      'messages',
    ],
  },
  // What is in the user's database. The command line prints how it is made.
  'outbox/table': { folders: ['producer', 'messages'] },
  'outbox/adapters': { folders: ['outbox/table'] },
  // Each library of databases has its own, which knows it by its form alone.
  'outbox/knex': { folders: ['outbox/adapters', 'outbox/table'] },
  'outbox/drizzle': { folders: ['outbox/adapters', 'outbox/table'] },
  'outbox/kysely': { folders: ['outbox/adapters', 'outbox/table'] },
  'outbox/nestjs-cls': { folders: ['outbox/table'] },
  'outbox/typeorm': { folders: ['outbox/adapters', 'outbox/table'] },
  'outbox/inbox': { folders: ['outbox/table', 'producer', ...BELOW_RUNTIME] },
  'outbox/relay': { folders: ['outbox/table', 'producer', ...BELOW_RUNTIME], packages: ['uuid'] },
  outbox: {
    folders: ['outbox/relay', 'outbox/inbox', 'outbox/adapters', 'outbox/table', ...INNER.outbox],
    packages: ['@nestjs/common'],
  },
  // It needs no Nest, and nothing else needs it. It serves two other faces.
  cli: {
    folders: [...ENTRIES, 'http', 'admin/catalogue', 'dashboard', 'gateway', '../tools/import-bullmq', ...INNER.cli],
    packages: ['@commander-js/extra-typings', 'rxjs'],
  },
  prometheus: { folders: ENTRIES, packages: ['prom-client'] },
  dashboard: {
    folders: [...ENTRIES, 'http/mount', 'http', 'admin/catalogue', ...INNER.dashboard],
    packages: ['@nestjs/common', 'rxjs'],
  },
  gateway: {
    folders: [...ENTRIES, 'http/mount', 'http', ...INNER.gateway],
    packages: ['@nestjs/common', 'uuid'],
  },
  // It runs in a browser, so of the rest it takes types alone; the build fails at anything else.
  'dashboard/browser': {
    folders: ['dashboard', 'admin', 'schedules', 'events', 'messages'],
    packages: ['preact', '@preact/signals', 'uplot', 'cronstrue', 'vite'],
  },
  opentelemetry: { folders: [...ENTRIES, ...INNER.opentelemetry], packages: ['@opentelemetry/api'] },
};

/** A pattern of the files of a folder, or of one file; without its subfolders where they are layers. */
function filesOf(layer) {
  const inner = Object.keys(LAYERS)
    .filter((other) => other.startsWith(`${layer}/`))
    .map((other) => other.slice(layer.length + 1));
  const without = inner.length > 0 ? `(?!(${inner.join('|')})(/|\\.ts$))` : '';
  return `^${posix.join('lib', layer)}(\\.ts$|/${without})`;
}

const layerRules = Object.entries(LAYERS).map(([layer, { folders = [], packages = [] }]) => ({
  name: layer,
  severity: 'error',
  comment: `${posix.join('lib', layer)} may import ${[...folders, ...packages].join(', ') || 'nothing'} beside the ground.`,
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
    {
      name: 'one-admission',
      severity: 'error',
      comment:
        'Of what may run, deliveries and owners know the admission and what it gives, and no slots, limits, holds or suspects.',
      from: { path: '^lib/consumer/(delivery|ownership)/' },
      to: {
        path: '^lib/consumer/admission/',
        pathNot: '/(admission|claim-admission|slot-queue|permits|begin-estimate)\\.ts$',
      },
    },
    ...layerRules,
    {
      name: 'types-of-the-entry',
      severity: 'error',
      comment: 'The entry loads Nest, which whoever takes a type of it need not have.',
      from: { path: filesOf('(cli|dashboard|gateway|opentelemetry|prometheus)') },
      to: { path: filesOf('index'), dependencyTypesNot: ['type-only'] },
    },
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
