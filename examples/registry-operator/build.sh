#!/bin/sh
# Builds the image, and pushes it under both names. The build context has the source alone.
set -e
docker build --build-arg "COMMIT=$COMMIT" -t "$EXPECTED_REF" -t "$IMAGE:$COMMIT" -f Dockerfile src
docker push "$EXPECTED_REF"
docker push "$IMAGE:$COMMIT"
