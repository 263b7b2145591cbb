// The process of a Moleculer service over NATS that returns what it gets.
import { echoService, openBroker } from './moleculer.ts';

const [natsUrl = ''] = process.argv.slice(2);
const broker = openBroker('echo', natsUrl);
broker.createService({
  name: echoService,
  actions: { echo: ({ params }: { params: unknown }) => params },
});
await broker.start();
console.log('"started"');
