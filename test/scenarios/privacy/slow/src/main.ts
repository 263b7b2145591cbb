import { runToolService } from '@agentmesh/mesh';
import { slow } from '../../definitions.ts';

await runToolService(slow);
