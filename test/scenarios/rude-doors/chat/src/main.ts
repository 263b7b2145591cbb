import { runAgentService } from '@agentmesh/mesh';
import { chat } from '../../agents.fixture.ts';

await runAgentService({ agent: chat, app: 'chat_app' });
