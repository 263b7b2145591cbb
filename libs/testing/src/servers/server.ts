/** A server that was started for us and ends with this process. */
export interface Server extends AsyncDisposable {
  /** What a client connects to: `nats://127.0.0.1:14222`. */
  readonly url: string;
  readonly host: string;
  readonly port: number;
  /** The server's own process id, to send it signals. */
  readonly pid: number;
  readonly dataDir: string;
  /** Ends it and removes its data, unless `dataDir` was given. */
  stop(): Promise<void>;
  /** SIGKILL; the data stays, for a start with the same `dataDir` and `port`. */
  kill(): Promise<void>;
}

export interface NatsOptions {
  /** More text of nats-server.conf: accounts, users, permissions, limits. */
  configuration?: string;
  /** Its name, by which its peers in a cluster know it again; default one of its own at each start. */
  name?: string;
  /** JetStream's folder; default a temporary one. */
  dataDir?: string;
  /** Default a free one. */
  port?: number;
  /** Default true. */
  jetstream?: boolean;
  /** Called when the local program ends without having been told to. */
  onEnd?: ((how: string) => void) | undefined;
}

export interface RedisOptions {
  dataDir?: string;
  /** Default a free one. */
  port?: number;
  /** Keep the data over a kill; default false. */
  appendOnly?: boolean;
  /** Of the default user; the url has it too. Letters and digits. */
  password?: string;
  /** Called when the local program ends without having been told to. */
  onEnd?: ((how: string) => void) | undefined;
  /** More arguments of redis-server: `['--maxmemory', '2mb']`. */
  extraArgs?: string[];
}
