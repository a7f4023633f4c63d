//! The types of metadata, which all kinds share.

use super::{
    Ty::{Any, Bool, Int64, List, Map, Str, Strings, Time, TimePtr},
    schema,
};

schema! {
    OBJECT_META: "ObjectMeta", "What every object says about itself." {
        Optional "name": Str, "Its name, unique among objects of its kind.";
        Optional "generateName": Str, "The beginning of a name that is made up.";
        Optional "namespace": Str, "Not used: no kind has namespaces.";
        Optional "selfLink": Str, "Not used.";
        Optional "uid": Str, "Its identity; another object of the same name has another one.";
        Optional "resourceVersion": Str, "Changes with every write.";
        Optional "generation": Int64, "Not used.";
        Optional "creationTimestamp": Time, "When it was created.";
        Optional "deletionTimestamp": TimePtr, "Since when it is to be deleted.";
        Optional "deletionGracePeriodSeconds": Int64, "Not used.";
        Optional "labels": Map, "Labels, for selectors.";
        Optional "annotations": Map, "Annotations, for programs.";
        Optional "ownerReferences": List(&OWNER_REFERENCE), "The objects that it belongs to.";
        Optional "finalizers": Strings, "It is not deleted as long as there are any.";
        Optional "managedFields": List(&MANAGED_FIELDS_ENTRY), "Who manages which fields, if clients wrote the object.";
    }

    MANAGED_FIELDS_ENTRY: "ManagedFieldsEntry", "The fields that somebody manages." {
        Optional "manager": Str, "Who it is.";
        Optional "operation": Str, "How the fields were written: Apply or Update.";
        Optional "apiVersion": Str, "The version of the fields.";
        Optional "time": TimePtr, "When the fields were last written.";
        Optional "fieldsType": Str, "The format of the fields: FieldsV1.";
        Optional "fieldsV1": Any, "The fields.";
        Optional "subresource": Str, "The part of the object through which they were written.";
    }

    OWNER_REFERENCE: "OwnerReference", "An object that another one belongs to." {
        Required "apiVersion": Str, "Its version of the API.";
        Required "kind": Str, "Its kind.";
        Required "name": Str, "Its name.";
        Required "uid": Str, "Its identity.";
        Optional "controller": Bool, "Whether it manages the object.";
        Optional "blockOwnerDeletion": Bool, "Not used.";
    }

    LIST_META: "ListMeta", "What a list says about itself." {
        Optional "selfLink": Str, "Not used.";
        Optional "resourceVersion": Str, "The version of the newest write.";
        Optional "continue": Str, "Not used: lists are complete.";
        Optional "remainingItemCount": Int64, "Not used.";
    }
}
