import { App } from '@agentmesh/agent';
import { runAgentService } from '@agentmesh/mesh';
import { chat } from '../../agents.fixture.ts';

await runAgentService(new App({ name: 'chat_app', rootAgent: chat }));
