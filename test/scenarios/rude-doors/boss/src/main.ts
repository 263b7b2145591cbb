import { App } from '@agentmesh/agent';
import { runAgentService } from '@agentmesh/mesh';
import { boss } from '../../agents.fixture.ts';

await runAgentService(new App({ name: 'boss_app', rootAgent: boss }));
