import type { Started } from '@agentmesh/bus';
import type { Mesh } from '@agentmesh/mesh';
import type { PartName } from '../../chaos/agents.ts';
import type { Life } from '../world/life.ts';
import type { GatewayServer } from './start-gateway.ts';

/** The kind of a process: an agent, a tool, or a gateway. */
export type Part = PartName | 'gateway';

/** The number of replicas of each part. */
export type Replicas = Partial<Record<Part, number>>;

/** The running work of a process. */
export interface Running {
  mesh: Mesh;
  /** Absent for a gateway. */
  served?: Started;
  /** The HTTP server of a gateway. Without one its clients call what its routes call. */
  server?: GatewayServer;
}

/** A place that a process fills. When the process dies, a new one comes. */
export interface Place {
  name: string;
  part: Part;
  /** The version that an agent announces. */
  version: string;
  /** The current process. */
  life: Life;
  /** The number of processes so far. */
  lives: number;
  /** Absent while the process starts. */
  running: Running | undefined;
  /** Resolves when the current process dies. */
  died: Promise<void>;
  die: () => void;
}
