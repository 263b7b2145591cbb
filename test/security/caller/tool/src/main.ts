import { runToolService } from '@agentmesh/mesh';
import { whoami } from '../../definitions.ts';

await runToolService(whoami);
