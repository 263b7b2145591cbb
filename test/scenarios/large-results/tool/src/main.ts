import { runToolService } from '@agentmesh/mesh';
import { write } from '../../definitions.ts';

await runToolService(write);
