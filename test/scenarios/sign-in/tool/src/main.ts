import { runToolService } from '@agentmesh/mesh';
import { calendar } from '../../definitions.ts';

await runToolService(calendar);
