import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A span as a receiver of OTLP gets it. */
export interface ReceivedSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  /** 1 internal, 2 server, 3 client, 4 producer, 5 consumer. */
  kind: number;
  startTimeUnixNano: string;
  /** The values by name. */
  attributes: Record<string, unknown>;
  links: { traceId: string; spanId: string }[];
  /** 2 for an error. */
  status: { code?: number; message?: string };
  /** The attributes of the process. */
  resource: Record<string, unknown>;
}

interface Attribute {
  key: string;
  value: Record<string, unknown>;
}

type SpanBody = Omit<ReceivedSpan, 'attributes' | 'resource' | 'links'> & {
  attributes: Attribute[];
  links?: ReceivedSpan['links'];
};

interface TracesBody {
  resourceSpans: { resource: { attributes: Attribute[] }; scopeSpans: { spans: SpanBody[] }[] }[];
}

/** A receiver of OTLP over HTTP with JSON, on a free port of this machine. */
export interface SpanReceiver extends AsyncDisposable {
  readonly url: string;
  /** All received spans, in the order of their arrival. */
  readonly spans: ReceivedSpan[];
  /** The number of requests, of any kind. */
  readonly requests: number;
}

export async function startSpanReceiver(): Promise<SpanReceiver> {
  const spans: ReceivedSpan[] = [];
  let requests = 0;
  const server = createServer(async (request, response) => {
    requests += 1;
    spans.push(...spansIn(await jsonOf(request)));
    response.setHeader('content-type', 'application/json');
    response.end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    get requests() {
      return requests;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function jsonOf(request: IncomingMessage): Promise<TracesBody> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece);
  return JSON.parse(Buffer.concat(pieces).toString());
}

function spansIn({ resourceSpans }: TracesBody): ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        links: [],
        ...span,
        attributes: valuesOf(span.attributes),
        resource: valuesOf(resource.attributes),
      })),
    ),
  );
}

function valuesOf(attributes: Attribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}

/**
 * Draws the spans of a trace as lines, children two blanks deeper than their parents, in the order of their begins.
 * A span whose parent is not there is drawn as a root.
 */
export function drawTrace(spans: readonly ReceivedSpan[], traceId: string): string[] {
  const ofTrace = spans
    .filter((span) => span.traceId === traceId)
    .sort((a, b) => Number(BigInt(a.startTimeUnixNano) - BigInt(b.startTimeUnixNano)));
  const ids = new Set(ofTrace.map(({ spanId }) => spanId));
  const draw = (span: ReceivedSpan, indent: string): string[] => [
    `${indent}${span.name} (${span.resource['service.name']})`,
    ...ofTrace
      .filter(({ parentSpanId }) => parentSpanId === span.spanId)
      .flatMap((child) => draw(child, `${indent}  `)),
  ];
  return ofTrace.filter(({ parentSpanId = '' }) => !ids.has(parentSpanId)).flatMap((root) => draw(root, ''));
}
