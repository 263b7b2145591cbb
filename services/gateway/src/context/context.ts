import type { MeshObserver } from '@agentmesh/bus';
import type { ConnectedMesh } from '@agentmesh/mesh';
import type { Logger } from '@agentmesh/service';
import type { RunAdmission } from './admission.ts';
import type { GatewayConfig } from './config.ts';

/** The parts that handlers may use. */
export interface GatewayContext {
  readonly mesh: ConnectedMesh;
  readonly config: Pick<GatewayConfig, 'runTimeoutMs' | 'unreadMs' | 'whenAbsent' | 'uploadLimit'> &
    Partial<Pick<GatewayConfig, 'stopOnDisconnect' | 'console'>>;
  /** Connects the view of the mesh for operators at its first use; absent without NATS. */
  readonly observer?: () => Promise<MeshObserver>;
  readonly log: Logger;
  /** The quotas of runs; absent: every run may start. */
  readonly admission?: RunAdmission;
  /** Aborted when the gateway stops and no longer waits for runs in hand. */
  readonly stopping: AbortSignal;
}
