import { type DeadLetters, type OperatorOptions, openDeadLetters } from '@agentmesh/bus';
import { type ConnectedMesh, connectService, natsTlsOf } from '@agentmesh/mesh';
import type { Logger, ServiceConfig } from '@agentmesh/service';

/** The surroundings of a command: the configuration of the mesh, the log, and the output. */
export interface Surroundings {
  config: ServiceConfig;
  log: Logger;
  print(line: string): void;
}

/** An operator's command. */
export interface Command {
  usage: string;
  meaning: string;
  run(args: string[], surroundings: Surroundings): Promise<void>;
}

/** Time limit of the connection to a server, in ms: short, as a person waits. */
export const connectTimeoutMs = 2_000;

/** Returns the address of NATS for an operator. */
export function operatorOf({ config }: Surroundings): OperatorOptions {
  return {
    url: config.natsUrl,
    user: config.natsUser,
    pass: config.natsPassword?.reveal(),
    tls: natsTlsOf(config),
    credsFile: config.natsCreds,
    namespace: config.namespace,
    connectTimeoutMs,
  };
}

/** Opens the dead letters for a piece of work. */
export async function withLetters(
  around: Surroundings,
  work: (letters: DeadLetters) => Promise<void>,
): Promise<void> {
  await using letters = await openDeadLetters(operatorOf(around));
  await work(letters);
}

/** Connects to the mesh for a piece of work. */
export async function withMesh(
  { config, log }: Surroundings,
  work: (mesh: ConnectedMesh) => Promise<void>,
): Promise<void> {
  await using mesh = await connectService('operator', config, log, { connectTimeoutMs });
  await work(mesh);
}
