import { runToolService } from '@agentmesh/mesh';
import { readConfig, serviceConfig } from '@agentmesh/service';
import { ledger, paymentTool } from './tool.ts';

await runToolService({
  tool: paymentTool,
  prepare: (log) =>
    ledger.open(readConfig(serviceConfig).redisUrl.reveal(), (error) =>
      log.warn({ err: error }, 'no word from Redis'),
    ),
});
