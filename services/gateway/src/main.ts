import { runMain } from '@agentmesh/service';
import { gatewayConfig } from './context/config.ts';
import { startGateway } from './service.ts';

await runMain({
  name: 'gateway',
  config: gatewayConfig,
  start: startGateway,
});
