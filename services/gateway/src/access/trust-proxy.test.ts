import { readConfig } from '@agentmesh/service';
import { expect, it } from 'vitest';
import { gatewayConfig } from '../context/config.ts';

const read = (text: string) => readConfig(gatewayConfig, { MESH_HTTP_TRUST_PROXY: text }).trustProxy;

it.each(['10.0.0.1', '10.0.0.0/8', '10.0.0.0/8, fd00::/8', '::1'])('proxies may be %s', (text) => {
  expect(read(text)).toBe(text);
});

it.each(['true', '10.0.0.0/33', '10.0.0.0/8/8', 'proxy.example', 'fd00::/129', '10.0.0.0/x'])(
  'proxies are not %s',
  (text) => expect(() => read(text)).toThrow(/MESH_HTTP_TRUST_PROXY must be a list of addresses/),
);
