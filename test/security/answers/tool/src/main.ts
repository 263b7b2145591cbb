import { runToolService } from '@agentmesh/mesh';
import { scan } from '../../definitions.ts';

await runToolService(scan, { patienceMs: 200 });
