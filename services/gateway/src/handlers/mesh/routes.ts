import type { Entrance } from '../../context/route.ts';
import { getDeadLetter, listDeadLetters, removeDeadLetter, replay } from './dead-letters.ts';
import { getMeshInvocation } from './invocation.ts';
import { getMap } from './map.ts';
import { listMeshPending } from './pending.ts';
import { listRuns } from './runs.ts';

const letter = '/mesh/dead-letters/:seq';

/** The routes about the whole mesh. Each leaves out the apps for which its caller has not the role. */
export const meshRoutes: Entrance[] = [
  { method: 'GET', url: '/mesh', handle: getMap, role: 'operator' },
  { method: 'GET', url: '/mesh/runs', handle: listRuns, role: 'operator' },
  { method: 'GET', url: '/mesh/invocations/:invocation', handle: getMeshInvocation, role: 'operator' },
  { method: 'GET', url: '/mesh/pending', handle: listMeshPending, role: 'approver' },
  { method: 'GET', url: '/mesh/dead-letters', handle: listDeadLetters, role: 'operator' },
  { method: 'GET', url: letter, handle: getDeadLetter, role: 'operator' },
  { method: 'DELETE', url: letter, handle: removeDeadLetter, role: 'operator', audit: 'delete' },
  { method: 'POST', url: `${letter}/replay`, handle: replay, role: 'operator', audit: 'run' },
];
