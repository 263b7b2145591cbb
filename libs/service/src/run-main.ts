import { AsyncDisposableStack, createReplicaId, MeshError } from '@agentmesh/protocol';
import { createLogger, type Logger } from './logger.ts';
import { programVersion } from './program-version.ts';
import { type Config, type ConfigShape, readConfig } from './read-config.ts';
import { runService } from './run-service.ts';
import { serviceConfig } from './service-config.ts';
import { startTraces } from './traces/start-traces.ts';

export interface MainContext {
  log: Logger;
  /** Name of this process among the replicas of the service, as in its logs. */
  replica: string;
  /** Version of the service: `MESH_VERSION`, or that of the program; undefined when neither is known. */
  version: string | undefined;
  /** Aborted when the process must stop. */
  signal: AbortSignal;
}

type WithBase<S extends ConfigShape> = Config<typeof serviceConfig & S>;

export interface MainOptions<S extends ConfigShape> {
  name: string;
  /** The version of the service; default that of the nearest `package.json` of the program. */
  version?: string | undefined;
  /** The service's own variables, beside `serviceConfig`. */
  config?: S;
  start(config: WithBase<S>, context: MainContext): Promise<AsyncDisposable>;
}

/**
 * Runs the process of a service: reads the configuration, makes the logger, runs the service. After a wrong
 * configuration it writes one line to stderr and exits with code 1.
 */
export async function runMain<S extends ConfigShape = Record<never, never>>(
  options: MainOptions<S>,
): Promise<void> {
  const { name } = options;
  let config: WithBase<S>;
  try {
    config = readConfig({ ...serviceConfig, ...options.config } as typeof serviceConfig & S);
  } catch (error) {
    const { code, message } = MeshError.from(error);
    process.stderr.write(`${name} could not start: ${code}: ${message}\n`);
    process.exitCode = 1;
    return;
  }
  const replica = createReplicaId(name);
  const common = config as Config<typeof serviceConfig>;
  const { logLevel: level, logFormat: format, graceMs } = common;
  const log = createLogger({ service: name, replica, level, format });
  await runService({
    name,
    log,
    graceMs,
    async start({ signal }) {
      await using owners = new AsyncDisposableStack();
      const version = common.version ?? options.version ?? programVersion(process.argv[1]);
      owners.use(await startTraces({ config: common, service: name, replica, version, log }));
      owners.use(await options.start(config, { log, replica, version, signal }));
      return owners.move();
    },
  });
}
