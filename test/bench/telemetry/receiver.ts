// A receiver of OTLP in a process of its own, which accepts everything. It prints its address, and at its end the number
// of requests.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

let requests = 0;
const server = createServer((request, response) => {
  requests += 1;
  request.resume().once('end', () => response.setHeader('content-type', 'application/json').end('{}'));
});
server.listen(0, '127.0.0.1', () => {
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
process.once('message', () => process.send?.({ requests }, () => process.exit()));
process.once('disconnect', () => process.exit());
