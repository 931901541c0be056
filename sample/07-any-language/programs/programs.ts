import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { type ProgramName, TOKENS } from '../access/tokens.js';
import { Program, type ProgramStart } from './program.js';

/** Where the programs are: the compiled application is in another folder, and they are not compiled. */
const SAMPLE = new URL('../../../sample/07-any-language/', import.meta.url);

/** What is compiled of Go, beside the compiled application. */
const WATCH = fileURLToPath(new URL('../go/watch', import.meta.url));

/** Short, so that the story is: a worker that has died is missed so soon. */
const LEASE = '4s';

/** Starts the programs in other languages, and ends them with the application. */
@Injectable()
export class Programs implements OnModuleDestroy {
  readonly #running: Program[] = [];

  /** @param gateway the URL of the gateway */
  worker(gateway: string, name: string): Program {
    const env = { ...access('python', gateway), WORKER_NAME: name, LEASE, PYTHONDONTWRITEBYTECODE: '1' };
    return this.#start('python', { name, command: ['python3', 'worker.py'], env });
  }

  page(gateway: string): Program {
    // With port 0 the system chooses a free one, and PHP prints which.
    const command = ['php', '-S', '127.0.0.1:0', 'reminder.php'] as const;
    return this.#start('php', { name: 'page', command, env: access('php', gateway) });
  }

  async watcher(gateway: string): Promise<Program> {
    const settings = { GOPROXY: 'off', GOTOOLCHAIN: 'local', GOFLAGS: '' };
    await promisify(execFile)('go', ['build', '-o', WATCH, '.'], {
      cwd: folderOf('go'),
      env: { ...process.env, ...settings },
    });
    return this.#start('go', { name: 'watcher', command: [WATCH], env: access('go', gateway) });
  }

  async onModuleDestroy(): Promise<void> {
    await this.endAll();
  }

  async endAll(): Promise<void> {
    await Promise.all(this.#running.map((program) => program.end()));
  }

  #start(language: ProgramName, start: Omit<ProgramStart, 'folder'>): Program {
    const program = new Program({ ...start, folder: folderOf(language) });
    this.#running.push(program);
    return program;
  }
}

function access(program: ProgramName, gateway: string): Record<string, string> {
  return { GATEWAY_URL: gateway, GATEWAY_TOKEN: TOKENS[program] };
}

function folderOf(language: ProgramName): string {
  return fileURLToPath(new URL(language, SAMPLE));
}
