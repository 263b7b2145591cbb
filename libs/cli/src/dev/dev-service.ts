import { type ServiceProcess, startService } from '../local/service-process.ts';
import { superviseStarts } from '../local/supervise.ts';

export interface DevServiceOptions {
  name: string;
  /** Returns the program that runs `main`; default this Node. @throws Error when it is missing */
  runtime?: () => string;
  main: string;
  /** Returns the arguments of the program; default none. */
  args?: () => string[];
  /** The folder in which the program runs. */
  folder: string;
  /** The number of processes. */
  replicas: number;
  /** Returns the environment of a process. */
  env: () => NodeJS.ProcessEnv;
  onLine: (service: string, line: string) => void;
  say: (text: string) => void;
  /** Aborted when the dev loop stops. */
  signal: AbortSignal;
}

/**
 * A service of the dev loop with all its replicas. A replica that ends by itself is started again after a
 * pause that grows with each death. A replica that cannot start waits for the next change of a file.
 */
export class DevService {
  readonly #options: DevServiceOptions;
  readonly #running: (ServiceProcess | undefined)[];
  readonly #restarts: ((what: string) => Promise<void>)[];
  /** The end of the work in hand: starts and stops of a service come one after the other. */
  #idle: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(options: DevServiceOptions) {
    this.#options = options;
    this.#running = Array.from({ length: options.replicas }, () => undefined);
    this.#restarts = this.#running.map((_, at) => {
      const { name, say, signal } = options;
      return superviseStarts({ name, say, signal, start: () => this.#next(() => this.#start(at)) });
    });
  }

  get name(): string {
    return this.#options.name;
  }

  /** The process ids of the live replicas. */
  get pids(): number[] {
    return this.#running.flatMap((each) => each?.pid ?? []);
  }

  /** The address of the first replica's HTTP server, if it has one. */
  get address(): string | undefined {
    return this.#running[0]?.address;
  }

  /** Starts all replicas. Reports a replica that cannot start. */
  async start(): Promise<void> {
    await this.#next(async () => {
      await Promise.all(this.#running.map((_, at) => this.#tryStart(at)));
    });
  }

  /** Stops one replica after the other, which ends its work first, and starts each again. */
  async restart(): Promise<void> {
    await this.#next(async () => {
      for (const at of this.#running.keys()) {
        await this.#stop(at);
        await this.#tryStart(at);
      }
    });
  }

  /** Stops all replicas for good. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#next(async () => {
      await Promise.all(this.#running.map((_, at) => this.#stop(at)));
    });
  }

  #next(work: () => Promise<void>): Promise<void> {
    const done = this.#idle.then(work);
    this.#idle = done.catch(() => {});
    return done;
  }

  async #tryStart(at: number): Promise<void> {
    try {
      await this.#start(at);
    } catch (error) {
      if (this.#options.signal.aborted || this.#isStopped) return;
      const why = error instanceof Error ? error.message : String(error);
      this.#options.say(`${why}\n  it is started again when one of its files changes`);
    }
  }

  async #start(at: number): Promise<void> {
    const { name, runtime, main, args = () => [], folder, env, onLine, say, signal } = this.#options;
    if (this.#isStopped || signal.aborted || this.#running[at]) return;
    const began = await startService({
      ...{ name, main, args: args(), folder, env: env(), onLine, signal },
      ...(runtime && { runtime: runtime() }),
      onDeath: (_, pid, how) => {
        this.#running[at] = undefined;
        if (this.#isStopped || signal.aborted) return;
        void this.#restarts[at]?.(`${name} (pid ${pid}) ended: ${how}`);
      },
    });
    this.#running[at] = began;
    if (signal.aborted) await this.#stop(at);
    else say(`${name} runs (pid ${began.pid})`);
  }

  async #stop(at: number): Promise<void> {
    const running = this.#running[at];
    this.#running[at] = undefined;
    await running?.stop();
  }
}
