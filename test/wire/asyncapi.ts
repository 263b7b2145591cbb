import { header, subjects, subjectTable } from '@agentmesh/protocol';
import { bodyNames, type JsonSchema, schemaOf } from './contract.ts';
import { type BodyName, bodies, frames, headerMeanings, type Traffic, traffic } from './messages.ts';

/** A channel of the document: a kind of subject. */
interface Channel {
  name: string;
  address: string;
  carriedBy: string;
  receivers: string;
  traffic: Traffic;
}

/** Returns the wire as an AsyncAPI 3 document, from the view of a program without agentmesh. */
export function asyncApi(version: string): JsonSchema {
  const channels = subjectTable.map(({ subject, carriedBy, receivers }) => {
    const found = traffic[subject];
    if (!found) throw new Error(`test/wire/messages.ts does not say what travels on ${subject}`);
    return { ...channelOf(subject), carriedBy, receivers, traffic: found };
  });
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'agentmesh',
      version,
      description:
        'The messages of agentmesh on NATS, from the view of a program without agentmesh. `mesh` is the namespace. docs/any-language.md explains them.',
      license: { name: 'Apache-2.0' },
    },
    defaultContentType: 'application/json',
    servers: { nats: { host: '127.0.0.1:4222', protocol: 'nats' } },
    channels: { ...Object.fromEntries(channels.map((each) => [each.name, channelObject(each)])), replies },
    operations: Object.fromEntries(
      channels.map((each) => [`${each.traffic.action}-${each.name}`, operation(each)]),
    ),
    components: {
      schemas: {
        headers: headersSchema(),
        ...Object.fromEntries(bodyNames.map((name) => [name, schemaOf(name, 'draft-7')])),
      },
      messages: Object.fromEntries(bodyNames.map((name) => [name, messageObject(name)])),
    },
  };
}

function channelOf(subject: string): Pick<Channel, 'name' | 'address'> {
  const path = subject === 'card.>' ? 'card.<kind>.<name>' : subject;
  const words = path.split('.').filter((token) => !token.startsWith('<'));
  return { name: words.join('-'), address: `${subjects().root}.${path.replace(/<(\w+)>/g, '{$1}')}` };
}

const messageRefs = (names: readonly BodyName[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/messages/${name}` }]));

const replies = {
  address: null,
  title: 'The inbox of a request',
  description: `A reply is plain JSON, or a stream of frames with the headers ${header.frame} and ${header.seq}: ${Object.keys(frames).join(', ')}.`,
  messages: messageRefs([
    ...new Set([
      ...Object.values(traffic).flatMap((each) => each.replies ?? []),
      ...Object.values(frames).flat(),
    ]),
  ]),
};

function channelObject({ address, carriedBy, receivers, traffic: { bodies: names } }: Channel): JsonSchema {
  const parameters = [...address.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => [
    name,
    { description: `One token: the ${name}, encoded.` },
  ]);
  return {
    address,
    description: `Carried by: ${carriedBy}. Received by: ${receivers}.`,
    messages: messageRefs(names),
    ...(parameters.length > 0 && { parameters: Object.fromEntries(parameters) }),
  };
}

function operation({ name, traffic: { action, bodies: names, replies: plain } }: Channel): JsonSchema {
  const at = `#/channels/${name}`;
  return {
    action,
    channel: { $ref: at },
    messages: names.map((body) => ({ $ref: `${at}/messages/${body}` })),
    ...(plain && {
      reply: {
        address: { location: '$message.header#/reply', description: 'The reply subject of the request.' },
        channel: { $ref: '#/channels/replies' },
        messages: plain.map((body) => ({ $ref: `#/channels/replies/messages/${body}` })),
      },
    }),
  };
}

function messageObject(name: BodyName): JsonSchema {
  return {
    name,
    summary: bodies[name].summary,
    contentType: 'application/json',
    headers: { $ref: '#/components/schemas/headers' },
    payload: { $ref: `#/components/schemas/${name}` },
  };
}

function headersSchema(): JsonSchema {
  const entries = Object.entries(header) as [keyof typeof header, string][];
  return {
    type: 'object',
    properties: Object.fromEntries(
      entries.map(([key, name]) => [name, { type: 'string', description: headerMeanings[key] }]),
    ),
  };
}
