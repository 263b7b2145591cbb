/** A server that we started and that ends with this process. */
export interface Server extends AsyncDisposable {
  /** The address for clients: `nats://127.0.0.1:14222`. */
  readonly url: string;
  readonly host: string;
  readonly port: number;
  /** The server's process id, for signals. */
  readonly pid: number;
  readonly dataDir: string;
  /** Ends the server and removes its data, unless `dataDir` was given. */
  stop(): Promise<void>;
  /** Kills the server (SIGKILL). The data stays for a start with the same `dataDir` and `port`. */
  kill(): Promise<void>;
}

/** The ways to run a server: by its program on this machine, or in a container. */
export type ServerRuns = 'local' | 'docker';

export interface NatsOptions {
  /**
   * More text of nats-server.conf: accounts, users, permissions, limits. `$NATS_ACCOUNTS_DIR` in it is a folder
   * beside the folder of JetStream.
   */
  configuration?: string;
  /** The server's name, by which its peers in a cluster recognise it; default a new name at each start. */
  name?: string;
  /** The way to run the server; default as `MESH_TEST_SERVERS` says, else Docker when its engine answers. */
  runs?: ServerRuns | undefined;
  /** The folder of JetStream; default a temporary folder. */
  dataDir?: string;
  /** The port; default a free port. */
  port?: number;
  /** Tells whether JetStream is on; default true. */
  jetstream?: boolean;
  /** The space on disk for JetStream, in bytes; default the server's own choice. */
  maxFileBytes?: number;
  /** Called when the local program ends without a call of `stop` or `kill`. */
  onEnd?: ((how: string) => void) | undefined;
}

export interface RedisOptions {
  /** As in {@link NatsOptions}. */
  runs?: ServerRuns | undefined;
  dataDir?: string;
  /** The port; default a free port. */
  port?: number;
  /** Tells whether the data survives a kill; default false. */
  appendOnly?: boolean;
  /** The password of the default user, in letters and digits. The url holds it too. */
  password?: string;
  /** More users, as lines of an ACL file. The default user keeps all rights, with or without a password. */
  users?: string;
  /** Called when the local program ends without a call of `stop` or `kill`. */
  onEnd?: ((how: string) => void) | undefined;
  /** More arguments of redis-server: `['--maxmemory', '2mb']`. */
  extraArgs?: string[];
}
