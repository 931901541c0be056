import { randomInt } from 'node:crypto';
import { userInfo } from 'node:os';

/** What tests may know of the environment they are started in. */
const KEPT = [
  // Where programs and temporary files are.
  'PATH',
  'TMPDIR',
  // How packages come to this machine.
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
  'http_proxy',
  'https_proxy',
  'no_proxy',
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_DIR',
  'SSL_CERT_FILE',
  'npm_config_cache',
  'npm_config_cafile',
  'npm_config_https_proxy',
  'npm_config_noproxy',
  'npm_config_proxy',
  'npm_config_registry',
  'npm_config_userconfig',
  // What one asks for.
  'IOREDIS',
  'REDIS_SERVER',
  'SEED',
];

/**
 * Leaves of this process's environment what tests may depend on, so that they do the same in every shell. What a test needs besides,
 * such as `TERM`, it sets itself. `SEED` is drawn unless it is given: all that is random in the tests follows from it.
 */
export function keepTestEnvironment() {
  // Vitest has set these.
  const kept = Object.entries(process.env).filter(([name]) => KEPT.includes(name) || /^(TEST|VITEST.*)$/.test(name));
  const home = homeOfUser(process.env.HOME);
  for (const name of Object.keys(process.env)) delete process.env[name];
  const set = { HOME: home, LANG: 'C.UTF-8', NODE_ENV: 'test', SEED: randomInt(2 ** 32), TZ: 'UTC' };
  Object.assign(process.env, set, Object.fromEntries(kept));
}

/** That of the system's records, where there is one. */
function homeOfUser(given = '/') {
  try {
    return userInfo().homedir;
  } catch {
    return given;
  }
}
