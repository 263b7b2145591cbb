import { runToolService } from '@agentmesh/mesh';
import { readConfig, serviceConfig } from '@agentmesh/service';
import { ledger, paymentTool } from './tool.ts';

await runToolService(paymentTool, {
  prepare: (log) => {
    const { redisUrl, redisPrefix, redisCaFile, redisWaitReplicas } = readConfig(serviceConfig);
    return ledger.open({
      url: redisUrl.reveal(),
      prefix: redisPrefix,
      caFile: redisCaFile,
      waitReplicas: redisWaitReplicas,
      onError: (error) => log.warn({ err: error }, 'no word from Redis'),
    });
  },
});
