/**
 * Variables of the gateway, of agents and of the provisioning step. An operator may have exported them, so
 * they are no errors here.
 */
export const variablesOfOthers: readonly string[] = [
  // generated: variables (npm run generate)
  'MESH_ACK_WAIT_MS',
  'MESH_BODY_LIMIT',
  'MESH_HTTP_ALLOWED_HOSTS',
  'MESH_HTTP_CERT_FILE',
  'MESH_HTTP_HOST',
  'MESH_HTTP_KEY_FILE',
  'MESH_HTTP_PERSON_HEADER',
  'MESH_HTTP_PORT',
  'MESH_HTTP_ROLES_HEADER',
  'MESH_MODEL',
  'MESH_REQUEST_TIMEOUT_MS',
  'MESH_RUN_TIMEOUT_MS',
  'MESH_STREAM_REPLICAS',
  'MESH_STREAM_STORAGE',
  'MESH_UNREAD_MS',
  'MESH_UPLOAD_LIMIT',
  'MESH_WHEN_ABSENT',
  // end of generated: variables
];
