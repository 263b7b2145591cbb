import { runAgentService } from '@agentmesh/mesh';
import { deskApp } from '../../definitions.ts';

await runAgentService(deskApp);
