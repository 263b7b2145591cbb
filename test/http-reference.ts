import {
  type JsonSchema,
  type OpenApiOperation,
  openApiDocument,
  openApiPath,
} from '@agentmesh/gateway/open-api';
import { routes } from '@agentmesh/gateway/routes';

/** Returns the rows of the reference: a route each, as the OpenAPI document describes it. */
export function httpRows(): string[][] {
  const { paths } = openApiDocument(routes);
  return routes.map((route) => {
    const { method, url, role, others } = route;
    const operation = paths[openApiPath(route)]?.[method.toLowerCase()];
    if (!operation) throw new Error(`the OpenAPI document has no ${method} ${url}`);
    const rights = others === undefined ? role : `${role}; ${others} for others`;
    return [`\`${method} ${url}\``, operation.summary, rights, queryOf(operation), bodyOf(operation)];
  });
}

function queryOf({ parameters }: OpenApiOperation): string {
  const fields = parameters.filter(({ in: place }) => place === 'query');
  return fields.map(({ name, required, schema }) => fieldOf(name, schema, required)).join(', ');
}

function bodyOf({ requestBody }: OpenApiOperation): string {
  if (!requestBody) return '';
  const schema = requestBody.content['application/json']?.schema;
  if (!schema) return 'bytes of any type';
  const [first] = (schema.anyOf as JsonSchema[] | undefined) ?? [schema];
  const { properties = {}, required = [] } = first as {
    properties?: Record<string, JsonSchema>;
    required?: string[];
  };
  const fields = Object.entries(properties);
  return fields.map(([name, each]) => fieldOf(name, each, required.includes(name))).join(', ');
}

/** A field: its name, `?` if it may be left out, and in brackets its values or its default. */
function fieldOf(name: string, schema: JsonSchema, isRequired: boolean): string {
  const { enum: values, const: only, default: value } = schema;
  const choices = Array.isArray(values) ? values : only === undefined ? [] : [only];
  const allowed = choices.map((each) => `\`${each}\``).join(', ');
  const note = allowed || (typeof value === 'number' ? String(value) : '');
  return `\`${name}${isRequired ? '' : '?'}\`${note && ` (${note})`}`;
}
