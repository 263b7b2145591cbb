import { runToolService } from '@agentmesh/mesh';
import { scan } from '../../definitions.ts';

await runToolService({ tool: scan, patienceMs: 200 });
