import { startTcpProxy, type TcpProxy } from '@agentmesh/testing';

/** The servers to which a process has connections of its own. */
export type Side = 'nats' | 'redis';

/** The proxies between one place and the servers. A process without proxies is connected directly. */
export type Links = Partial<Record<Side, TcpProxy>>;

export interface Addresses {
  natsUrl: string;
  redisUrl: string;
}

/** The network between the places of a field and its servers. */
export interface Network {
  /** Returns the addresses that the processes of a place use. */
  connect(place: string): Promise<Addresses>;
  /** Returns the proxies of a place. */
  linksOf(place: string): Links;
}

/**
 * Makes a network with a proxy for each place and each server. A proxy stands before single servers only: the
 * members of a cluster tell their clients each other's addresses, and a client would go around the proxy.
 */
export function openNetwork(owners: AsyncDisposableStack, direct: Addresses, proxied: boolean): Network {
  const links = new Map<string, Links>();
  const through = async (url: string) => {
    const target = proxied ? singleServer(url) : undefined;
    return target && owners.use(await startTcpProxy(target));
  };
  const addressOf = (url: string, proxy: TcpProxy | undefined) =>
    proxy ? `${new URL(url).protocol}//${proxy.host}:${proxy.port}` : url;
  return {
    async connect(place) {
      const nats = await through(direct.natsUrl);
      const redis = await through(direct.redisUrl);
      links.set(place, { ...(nats && { nats }), ...(redis && { redis }) });
      return { natsUrl: addressOf(direct.natsUrl, nats), redisUrl: addressOf(direct.redisUrl, redis) };
    },
    linksOf: (place) => links.get(place) ?? {},
  };
}

function singleServer(url: string): { host: string; port: number } | undefined {
  if (url.includes(',') || url.includes('+')) return undefined;
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port) };
}
