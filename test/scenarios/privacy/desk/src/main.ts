import { runToolService } from '@agentmesh/mesh';
import { desk } from '../../definitions.ts';

await runToolService(desk);
