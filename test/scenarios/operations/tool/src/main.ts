import { runToolService } from '@agentmesh/mesh';
import { copy } from '../../definitions.ts';

await runToolService(copy);
