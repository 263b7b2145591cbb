import { integer, oneOf, variable } from '@agentmesh/service';

/** The variables of the provisioning step, beside the variables of every service. */
export const provisionConfig = {
  replicas: variable('MESH_STREAM_REPLICAS', 'copies of each stream in a NATS cluster', integer(1, 5), {
    default: '1',
  }),
  storage: variable(
    'MESH_STREAM_STORAGE',
    'where streams are kept: file or memory',
    oneOf('file', 'memory'),
    {
      default: 'file',
    },
  ),
  ackWaitMs: variable(
    'MESH_ACK_WAIT_MS',
    'a run whose process gives no sign of life for so long goes to another replica, in ms',
    integer(1_000, 600_000),
    { default: '1500' },
  ),
};
