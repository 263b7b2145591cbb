import { z } from 'zod';
import { toolNameSchema } from '../names/names.ts';

/** The key in `customMetadata` of a user's message for what the client has given beside the message. */
export const clientKey = 'mesh:client';

/** The most tools, and the most entries of the context, of a message. */
const most = 64;
/** The most characters of both as JSON: they go into each prompt of the run. */
const mostCharacters = 64_000;

/** A tool that the client declares with its message, and runs itself. */
const clientToolSchema = z.strictObject({
  name: toolNameSchema,
  description: z.string().default(''),
  /** The JSON Schema of the arguments, an object; absent for a tool without arguments. */
  parameters: z
    .record(z.string(), z.unknown())
    .refine(({ type = 'object' }) => type === 'object', 'must be a JSON Schema of type object')
    .optional(),
});

/** The input of a client beside its message. It counts for the run, and for the runs that continue it with answers. */
export const clientInputSchema = z
  .strictObject({
    /** The tools that the client runs. A call of one of them is pending until the client sends its response. */
    tools: z
      .array(clientToolSchema)
      .max(most, `may be ${most} at the most`)
      .superRefine((tools, { addIssue }) => {
        const names = tools.map(({ name }) => name);
        const twice = names.find((name, at) => names.indexOf(name) !== at);
        if (twice !== undefined) addIssue(`two tools are called ${twice}; rename one`);
      })
      .optional(),
    /** Facts about the situation of the user, for the prompts of the run. They are no instructions. */
    context: z
      .array(z.strictObject({ description: z.string(), value: z.string() }))
      .max(most, `may have ${most} entries at the most`)
      .optional(),
  })
  .refine(
    (input) => JSON.stringify(input).length <= mostCharacters,
    `tools and context may have ${mostCharacters} characters as JSON at the most`,
  );

export type ClientTool = z.infer<typeof clientToolSchema>;
export type ClientInput = z.infer<typeof clientInputSchema>;
